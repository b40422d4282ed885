"""Lightning's trainer logs through our logger."""

from __future__ import annotations

import pytest

from seamount.tracking import query
from seamount.tracking.store.verify import verify

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_trainer_logs_metrics_and_hyperparameters(store, tmp_path):
    import torch
    from lightning.pytorch import LightningModule, Trainer

    from seamount.tracking.lightning_logger import SeamountLogger

    torch.set_num_threads(1)

    class Line(LightningModule):
        def __init__(self, lr: float = 0.1) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, index):
            loss = self.layer(batch).square().mean()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)

    logger = SeamountLogger(project="lightning", store=store.uri)
    trainer = Trainer(
        max_steps=4,
        logger=logger,
        log_every_n_steps=1,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(Line(), torch.utils.data.DataLoader(torch.ones(8, 1), batch_size=2))
    row = query.run(store.uri, logger.version)
    assert (row["state"], row["project"], row["config"]) == ("Completed", "lightning", {"lr": 0.1})
    assert [p["step"] for p in query.points(store.uri, logger.version, "loss")] == [0, 1, 2, 3]
    assert verify(store, logger.version)["ok"]
