"""Operations of the engine, one a file: a torch `reference` first, faster forms of the same signature beside it."""
