"""The table of the combination under encryption."""

from _table import load, table

QUERIES = {"digits": "digits", "ties": "made up, many ties"}


def combination():
    record = load("secure")
    body = [
        [
            f"{row['participants']} × {row['classes']}",
            QUERIES[row["queries"]],
            f"{row['n_equal']} of {row['n_queries']}",
            f"{row['query_cpu_seconds']:.1f} s",
            f"{row['query_seconds']:.1f} s",
            f"{row['first_seconds']:.0f} s",
            f"{1000 * row['encrypt_seconds']:.0f} ms",
            f"{row['compile_seconds']:.0f} s",
            f"{row['keys_seconds']:.0f} s",
            *(
                _size(row[key])
                for key in (
                    *("secret_key_bytes", "evaluation_keys_bytes"),
                    *("scores_bytes", "class_bytes"),
                )
            ),
        ]
        for row in record["rows"]
    ]
    names = [
        *("participants × classes", "queries", "equal to plain", "query, processor", "query"),
        *("first query", "encryption", "circuit", "keys", "secret key", "evaluation keys"),
        *("scores", "class"),
    ]
    return (
        f"{record['rows'][0]['library']}, on one core. The first query unpacks the evaluation "
        "keys. Encryption and the size of scores are for one query and participant; keys and "
        "messages are those of `skdp.secure`, signatures included.\n\n" + table(names, body)
    )


def _size(n_bytes):
    scale, unit = (1e6, "MB") if n_bytes >= 1e6 else (1e3, "kB")
    return f"{n_bytes / scale:.{0 if n_bytes >= 10 * scale else 1}f} {unit}"
