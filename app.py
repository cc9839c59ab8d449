"""Draftscope's entry point: `python app.py --help` lists the options."""

from playground.launch import main

if __name__ == "__main__":
    raise SystemExit(main())
