"""One tiny engine for every known fault, each test named by what a user would have seen."""

from __future__ import annotations

import pytest

from tests.oracle import PlainOracle


@pytest.fixture(scope="module")
def engine(tiny_engine):
    return tiny_engine("llama")


@pytest.fixture(scope="module")
def oracle(engine):
    return PlainOracle(engine)


@pytest.fixture
def session(engine):
    session = engine.new_session(drafter="ngram", draft_len=7)
    yield session
    session.close()
