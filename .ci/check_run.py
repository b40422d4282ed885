"""Check the result of the main job: every artefact stands and the model beats zstd -19."""

import json
import sys
from pathlib import Path

result = json.loads(Path(sys.argv[1]).read_text())
for name in ("corpus", "tokenizer", "checkpoint", "report", "lineage"):
    if not Path(result[name]).exists():
        sys.exit(f"{name}: {result[name]} does not exist")
if not Path(result["export"]["path"]).is_file():
    sys.exit(f"export: {result['export']['path']} is not a file")
model, zstd = result["bpb"]["weighted"], result["baselines"]["zstd"]
print(f"model {model:.3f} BPB, zstd -19 by document {zstd:.3f}, {result['seconds']:.0f} s")
sys.exit(0 if model < zstd else "the model does not beat zstd -19 on documents alone")
