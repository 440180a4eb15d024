"""Private rows in Parquet files, read batch by batch in bounded memory."""

from contextlib import contextmanager

import numpy as np

from skdp.tabular import person_ids
from skdp.utils._frames import as_elements, matched
from skdp.utils._validation import listed


def parquet_batches(columns, path, labels, group, batch_size):
    """Yield batches of private rows, labels and IDs; a person's rows stay in one batch.

    Each file is read with its own types: the meaning of a cell depends on no other file.
    """
    if columns.input_names is None:
        raise ValueError(
            "The columns of this StatisticsAccumulator have no names, by which those of Parquet "
            "files are found. Make it by accumulator(feature_names=...), or with an 'encoder'."
        )
    inputs = list(columns.input_names)
    names = list(dict.fromkeys([*inputs, *labels, *([] if group is None else [group])]))
    tables = _tables(_fragments(path, names), names, batch_size)
    for table in tables if group is None else _whole_persons(tables, group):
        groups = None if group is None else table[group]
        y = table.select(labels) if len(labels) > 1 else table[labels[0]]
        yield table.select(inputs), y, groups


def _fragments(path, names):
    """Return the files, and the values of columns in the names of their folders; checked."""
    try:
        import pyarrow.dataset as ds
    except ImportError:
        raise ImportError(
            "Parquet files need the package pyarrow: pip install 'skdp[parquet]'."
        ) from None
    with _files_that_can_be_read(path):
        dataset = ds.dataset(path, format="parquet", partitioning="hive")
        fragments = [
            (f, ds.get_partition_keys(f.partition_expression)) for f in dataset.get_fragments()
        ]
        columns = [{*fragment.physical_schema.names, *keys} for fragment, keys in fragments]
    if not fragments:
        raise ValueError(
            f"The 'path' parameter, {str(path)!r:.200}, holds no Parquet file. Name a file, or a "
            "folder that has some."
        )
    for (fragment, _), present in zip(fragments, columns, strict=True):
        absent = [name for name in matched(names, present) if name not in present]
        if absent:
            raise ValueError(
                f"The Parquet file {fragment.path!r} lacks the columns {listed(absent)}. Give all "
                "files the announced columns, and name those of 'label' and 'group' as they do."
            )
    return fragments


def _tables(fragments, names, batch_size):
    """Yield rows of the files, with columns for the names of folders, as Parquet readers do."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    for fragment, keys in fragments:
        with _files_that_can_be_read(fragment.path), fragment.open() as source:
            # Otherwise Arrow would load a whole row group, often a million rows.
            file = ParquetFile(source, pre_buffer=False, buffer_size=2**16)
            given = matched(names, [*file.schema_arrow.names, *keys])
            stored = [name for name in given if name not in keys]
            for batch in file.iter_batches(batch_size, columns=stored):
                n = len(batch)
                columns = [
                    batch[name] if name in stored else pa.repeat(pa.scalar(keys[name]), n)
                    for name in given
                ]
                yield pa.table(columns, names=names)


def _whole_persons(tables, group):
    """Yield the tables, with the rows of the last person of each moved to the next."""
    import pyarrow as pa

    held = None
    for table in tables:
        if held is not None and held.schema.equals(table.schema):
            table = pa.concat_tables([held, table])
        elif held is not None:  # of a file with other types
            yield held
        persons = person_ids(as_elements(table[group]))
        others = np.flatnonzero(persons != persons[-1:])
        n_whole = int(others[-1]) + 1 if len(others) else 0
        if n_whole:
            yield table.slice(0, n_whole)
        held = table.slice(n_whole)
    if held is not None:
        yield held


@contextmanager
def _files_that_can_be_read(path):
    """Turn any error except a missing file into a ValueError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:  # of any kind: the parser may quote what it parses
        raise ValueError(
            f"{str(path)!r:.200} cannot be read as Parquet ({type(error).__name__}). Write it "
            "again, and keep other files out of the folder."
        ) from None
