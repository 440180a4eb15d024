"""Files that a command writes: whole or not at all, and over nothing that is there."""

import os
import secrets
from contextlib import contextmanager
from pathlib import Path


def check_output(path, endings, *, force, inputs):
    """Return where a command is to write; refuses before any work is done or budget spent.

    Parameters
    ----------
    path : str
        As given by ``--output``.

    endings : tuple of str
        Of which it must have one.

    force : bool
        Whether a file that is there may be replaced.

    inputs : list of str
        What the command reads; never replaced.

    Returns
    -------
    path : Path

    Raises
    ------
    ValueError
        Naming the argument, its value and the remedy.
    """
    target = Path(path)
    named = f"--output {str(path)!r}"
    if target.suffix.lower() not in endings:
        raise ValueError(f"{named} must end in {' or '.join(endings)}. Choose such a name.")
    folder = target.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{named}: there is no folder {str(folder)!r}. Make it first.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{named}: nothing may be written to {str(folder)!r}. Choose another.")
    if target.is_dir():
        raise ValueError(f"{named} is a folder. Name a file.")
    if target.resolve() in [Path(each).resolve() for each in inputs]:
        raise ValueError(f"{named} is also a file that is read. Choose another name.")
    if target.exists() and not force:
        raise ValueError(f"{named} is there already. Choose another name, or add --force.")
    return target


@contextmanager
def written_whole(path):
    """Yield the name of a draft that takes the place of a file once it is complete.

    Parameters
    ----------
    path : Path
        Of the file; stays as it was where writing fails.
    """
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        yield draft
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
