"""The Gradio playground: a page over `engine` sessions. Importing this package imports neither gradio nor torch."""
