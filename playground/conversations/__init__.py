"""Conversations that last: kept, listed, searched, branched, renamed, deleted, and taken along as files."""
