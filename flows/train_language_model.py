"""A built corpus to a trained language model."""

from prefect import flow

from seamount.core import storage
from tasks import building, tokenizing, training
from tasks.parameters import CorpusOptions, Overrides, Place
from tasks.reference import absolute
from tasks.tracking import tracked_run


@flow(name="train-language-model", description="Train by a recipe; an interrupted run continues.")
def train_language_model(
    recipe: Place = "text/demo.yaml",
    overrides: Overrides = [],  # noqa: B006
    corpus: Place = "runs/demo/corpus",
    out: Place = "runs/train",
    restart: bool = False,
) -> dict:
    """Return the reference to the model folder.

    Args:
        recipe: Path or short name of a training recipe.
        overrides: Changes to the recipe, each key=value, such as steps=100.
        corpus: Folder of a built corpus, or sources to build one from.
        out: Folder for tokenizer/, tokens/, checkpoints/ and model/.
        restart: Drop the checkpoints of another training in `out`.
    """
    corpus, out = absolute(corpus), absolute(out)
    plan = training.read_recipe(recipe, overrides)
    with tracked_run(out, "train-language-model", {"corpus": corpus, "recipe": plan}) as run:
        place = storage.join(out, "corpus")  # used where `corpus` is not built yet
        found = building.find_sources([corpus], place, CorpusOptions(), run)
        built = building.build_corpus(found, place, CorpusOptions(), run)
        folder = storage.join(out, "tokenizer")
        tokenizer = tokenizing.train_tokenizer(built, training.vocab_size(plan), folder, run)
        tokens = tokenizing.tokenize_corpus(built, tokenizer, storage.join(out, "tokens"), run)
        return training.train_language_model(
            plan, tokens, tokenizer, out, run, restart
        ).model_dump()
