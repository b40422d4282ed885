"""The main job: real text to a trained, scored, quantised, exported model and its report."""

import time

from prefect import flow

from tasks import building, exporting, reporting, scoring, tokenizing, training
from tasks.parameters import CorpusOptions, ExportOptions, Overrides, Place, ScoringOptions
from tasks.reference import outside
from tasks.tracking import tracked_run


@flow(name="corpus-to-model", description="Corpus, tokens, training, scores, export and report.")
def corpus_to_model(
    corpus: Place = "local",
    out: Place = "runs/demo",
    recipe: Place = "text/demo.yaml",
    overrides: Overrides = [],  # noqa: B006
    corpus_options: CorpusOptions = CorpusOptions(),  # noqa: B008
    scoring_options: ScoringOptions = ScoringOptions(),  # noqa: B008
    export_options: ExportOptions = ExportOptions(),  # noqa: B008
    restart: bool = False,
) -> dict:
    """Return the content of result.json.

    Args:
        corpus: `local`, URL of Pile-format jsonl.zst, or folder of a finished corpus.
        out: Folder for everything the run makes.
        recipe: Path or short name of a training recipe.
        overrides: Changes to the recipe, each key=value, such as steps=100.
        corpus_options: How the corpus is built.
        scoring_options: How bits per byte are measured.
        export_options: How the model is exported, and when that is refused.
        restart: Drop the checkpoints of another training in `out`.
    """
    start_s, out = time.monotonic(), outside(out, corpus)
    plan = training.read_recipe(recipe, overrides)
    with tracked_run(out, "corpus-to-model", {"corpus": corpus, "recipe": plan}) as run:
        road = {}
        sources = building.find_sources([corpus], f"{out}/corpus", corpus_options, run)
        road["corpus"] = built = building.build_corpus(
            sources, f"{out}/corpus", corpus_options, run
        )
        road["tokenizer"] = tokenizer = tokenizing.train_tokenizer(
            built, training.vocab_size(plan), f"{out}/tokenizer", run
        )
        road["tokens"] = tokens = tokenizing.tokenize_corpus(built, tokenizer, f"{out}/tokens", run)
        road["model"] = model = training.train_language_model(
            plan, tokens, tokenizer, out, run, restart
        )
        road["scores"] = scoring.evaluate_bpb(
            model, built, scoring_options, f"{out}/scores/model.json", run
        )
        road["baselines"] = scoring.score_baselines(
            built, scoring_options, f"{out}/scores/baselines.json", run
        )
        road["export"] = exporting.export_model(
            model, built, export_options, f"{out}/export", f"{out}/scores/export.json", run
        )
        return reporting.write_report(road, out, plan, run, start_s)
