"""Draw the pictures of the README and the docs (SVG) anew: `make docs`."""

from __future__ import annotations

from pathlib import Path

from drawing import Band, Box, Chain, picture

FOLDER = Path(__file__).parent


def road() -> str:
    """The road from sources to an export, with the folder of each station."""
    return picture(
        "The road of Seamount",
        Band(
            (
                "flows/ say what, in tasks/: Prefect runs them by schedule, from its UI, from "
                "Python, from the shell",
            )
        ),
        Chain(
            (
                Box("sources", ("corpora/text/readers",)),
                Box("documents", ("filters, dedupe",)),
                Box("shards", ("mixture, split",)),
                Box("tokens", ("tokenizer, tokens",)),
                Box("model x strategy", ("models, training",)),
                Box("metrics", ("evaluation",)),
                Box("export", ("export, inference",)),
            )
        ),
        Band(
            (
                "tracking/ keeps every logged point; core/lineage ties each artefact to the bytes "
                "it was made from",
                "every document accounted for, every interruption exact, every figure beside a "
                "peer",
            )
        ),
    )


def corpus() -> str:
    """The stages of a corpus build, then tokens."""
    return picture(
        "From sources to shards and token files",
        Band(
            ("sources: URLs of jsonl.zst files and folders, or the readers of a catalog (local)",)
        ),
        Chain(
            (
                Box("clean", ("once a batch", "normalise, filter,", "digest, signature")),
                Box("dedupe", ("once", "exact and MinHash", "clusters of copies")),
                Box("mix and split", ("once", "weights in bytes,", "train, val, test")),
                Box("scatter", ("once a batch", "lines sorted", "by shard")),
                Box("gather", ("once a shard", "lines in place,", "counted, packed")),
                Box("publish", ("once", "ledger checked,", "manifest last")),
            )
        ),
        Band(
            (
                "each call ends with .work/STAGE/KEY/result.json; the key is a digest of inputs "
                "and rules, so no finished call is redone",
            )
        ),
        Chain(
            (
                Box("train split", ("read_split",)),
                Box("tokenizer", ("byte-level BPE",)),
                Box("token file", ("train.bin, train.idx, memory-mapped",)),
                Box("sequences", ("by seed, epoch and index alone",)),
            )
        ),
    )


def deduplication() -> str:
    """How copies are found out of core, and the reports that look at it from outside."""
    return picture(
        "How copies are found out of core",
        Chain(
            (
                Box("document", ("normalised text,", "once a batch")),
                Box("fingerprint", ("digest, band keys,", "120-byte sketch")),
                Box("band files", ("each band sorted,", "65,536 documents")),
                Box("ranges", ("keys that begin", "alike, of all files")),
                Box("compare", ("sketches, where a", "band is shared")),
                Box("join", ("union-find,", "4 bytes a document")),
                Box("survivor", ("by priority, id;", "the rest is listed")),
            )
        ),
        Band(
            (
                "no text is read again and no pair is listed: memory is a few bytes a document "
                "and one range of keys",
            )
        ),
        Chain(
            (
                Box("dedupe-report", ("edits planted, joined pairs compared in full",)),
                Box("audit --leaks", ("40 bands of 3: the train document nearest",)),
                Box("trace, find, exclude", ("which document stands for which copy",)),
            ),
            arrow="",
        ),
    )


def training() -> str:
    """Processes of a training, and one step."""
    return picture(
        "Processes of a training, and one step",
        Chain(
            (
                Box("train(request)", ("the caller: no torch", "progress, tracked run")),
                Box("launcher", ("a child: imports torch once,", "dies with the caller")),
                Box("ranks", ("1, or forked: gloo, one mesh", "Lightning runs the loop")),
                Box("checkpoint", ("every N steps and on SIGTERM", "folder, digests, then LATEST")),
                Box("model/", ("config.json, safetensors,", "tokenizer, lineage")),
            )
        ),
        Band(("a step, in any layout: the same sequences, the same loss, the same gradient",)),
        Chain(
            (
                Box("batch", ("of step number n", "from the seed alone")),
                Box("loss", ("mean cross-entropy", "vocabulary may be cut")),
                Box("gradient", ("partial sums added", "shards counted once")),
                Box("clip", ("one global norm", "over all ranks")),
                Box("rate", ("a function of", "the step alone")),
                Box("update", ("Muon for matrices", "AdamW for the rest")),
            )
        ),
    )


def scores() -> str:
    """Bits per byte, then the way of an export."""
    return picture(
        "Bits per byte, and the way of an export",
        Chain(
            (
                Box("document", ("UTF-8 bytes of", "the source text")),
                Box("windows", ("prefix token first,", "every token once")),
                Box("nats", ("-log p of each,", "summed exactly")),
                Box("component", ("nats / bytes / ln 2", "and an interval")),
                Box("weighted", ("weights of those", "that are present")),
                Box("beside", ("zstd, xz, whole,", "byte histogram")),
            )
        ),
        Band(("the same scorer opens our checkpoint, a Hugging Face folder and an ONNX file",)),
        Chain(
            (
                Box("model", ("folder or", "checkpoint")),
                Box("int8 twin", ("a scale a channel,", "rounded in torch")),
                Box("model.onnx", ("free batch and", "sequence")),
                Box("parity", ("the file against the", "twin, six shapes")),
                Box("delta", ("whole test split", "in onnxruntime")),
                Box("gate", ("max_bpb_delta,", "if one is given")),
                Box("publish", ("the folder appears", "whole, or not")),
            )
        ),
    )


def flows() -> str:
    """How the main flow is started, and what each of its tasks does around its work."""
    return picture(
        "The main flow, how it starts, and what each task does",
        Chain(
            (
                Box("Python", ("corpus_to_model(...)",)),
                Box("seamount run", ("embedded server",)),
                Box("schedule", ("cron in prefect.yaml",)),
                Box("API", ("create_flow_run",)),
                Box("Prefect's pages", ("a form from pydantic",)),
            ),
            arrow="down",
        ),
        Band(("parameters are checked against their bounds before anything starts",)),
        Chain(
            (
                Box("sources", ("find_sources",)),
                Box("corpus", ("build_corpus",)),
                Box("tokens", ("train_tokenizer,", "tokenize_corpus")),
                Box("training", ("train_", "language_model")),
                Box("scores", ("evaluate_bpb,", "score_baselines")),
                Box("export", ("export_model",)),
                Box("report", ("write_report",)),
            )
        ),
        Band(
            (
                "each task: a key of inputs and code, one library call, artifacts, a small "
                "reference to what it left",
                "an earlier result is used only if its files still stand in their sizes",
            )
        ),
    )


def numerics() -> str:
    """Each control and what it proves."""
    return picture(
        "Controls and what they prove",
        Chain(
            (
                Box("transformers", ("its Llama, the", "same weights")),
                Box("torch", ("AdamW, Muon,", "clipping, loss")),
                Box("one process", ("the same recipe,", "shrunk")),
                Box("undisturbed run", ("no signal", "sent")),
                Box("plain windows", ("one at a time,", "log_softmax")),
                Box("torch twin", ("dequantised", "weights")),
            ),
            arrow="down",
        ),
        Chain(
            (
                Box("models/language", ("logits",)),
                Box("step", ("update and gradient",)),
                Box("two ranks", ("losses, gradients",)),
                Box("killed run", ("the same bytes",)),
                Box("scorer", ("nats a document",)),
                Box("model.onnx", ("logits",)),
            ),
            arrow="",
        ),
    )


def plots() -> str:
    """What `seamount track plot` makes of six runs: seeds grouped by learning rate, one NaN."""
    import math
    import random
    import tempfile

    from seamount.tracking import Run
    from seamount.tracking.dashboard.chart_data import chart_data
    from seamount.tracking.dashboard.plot.picture import Look, render
    from seamount.tracking.dashboard.spec import ChartSpec, read_spec

    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as store:
        for number in range(6):
            rate = (0.1, 0.01)[number % 2]
            with Run(project="demo", name=f"seed {number}", run_id=f"r{number}", store=store,
                     capture=False) as run:  # fmt: skip
                run.log_configs({"lr": rate})
                for step in range(300):
                    bad = number == 0 and step == 180
                    level = 0.6 + number * 0.05 + 2.5 * math.exp(-step * (rate + 0.05) / 8)
                    noise = chance.gauss(0, 0.08)
                    run.log_metrics({"loss": math.nan if bad else level + noise}, step=step)
        spec = {"metrics": "^loss$", "group_by": ["config.lr"], "band": "minmax", "y_scale": "log",
                "smoothing": {"kind": "ema", "weight": 0.8}}  # fmt: skip
        chart = chart_data(read_spec(ChartSpec, spec), store, 900, "r5")
    return render([chart], "svg", Look((900, 420))).decode()


PICTURES = (road, corpus, deduplication, training, scores, flows, numerics, plots)


def main() -> None:
    """Write every picture beside this script."""
    for draw in PICTURES:
        (FOLDER / f"{draw.__name__}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
