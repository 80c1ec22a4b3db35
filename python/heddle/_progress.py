"""The progress bar of a training, in terminals and notebooks."""

from tqdm.auto import tqdm


class ProgressBar:
    """Epochs on a bar of tqdm's, with errors beside it. Without ``wanted`` it does nothing.

    Parameters
    ----------
    wanted : bool or int
        The estimator's ``verbose``.
    title : str
    """

    def __init__(self, wanted, title):
        self._wanted = wanted
        self._title = title
        self._bar = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()

    def progress(self, epoch, last_epoch, part, size):
        """Shows that ``part`` (0 to 1) of ``epoch`` is done."""
        bar = self._shown(last_epoch)
        bar.total = last_epoch
        bar.n = round(epoch - 1 + part, 2)
        bar.set_postfix_str(size, refresh=False)
        bar.refresh()

    def epoch(self, report):
        """Shows the errors of an epoch that is over."""
        bar = self._shown(None)
        bar.n = report["epoch"]
        text = f"{report['size']}, train error {report['train_error']:.4g}"
        if report["validation_error"] is not None:
            text += f", validation error {report['validation_error']:.4g}"
        bar.set_postfix_str(text, refresh=False)
        bar.refresh()

    def notice(self, line):
        """A line from heddle above the bar."""
        tqdm.write(f"heddle: {line}")

    def _shown(self, total):
        if self._bar is None:
            self._bar = tqdm(total=total, desc=self._title, unit="epoch")
        return self._bar
