"""Models in the page: which may be loaded, whether they fit, how a load runs, and whether its drafter pays."""
