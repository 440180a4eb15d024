"""The tables of what audits detect."""

from _table import load, table


def audit_power():
    rows = load("audit_power")["rows"]
    tables = []
    for audit, subject in (("mechanism", "leak"), ("membership inference", "model")):
        here = [r for r in rows if r["audit"] == audit]
        sizes = list(dict.fromkeys(r["size"] for r in here))
        body = []
        for audited, leak in dict.fromkeys((r["audited"], r["leak"]) for r in here):
            cells = [_cell(r) for r in here if (r["audited"], r["leak"]) == (audited, leak)]
            body.append([f"{audited}: {leak}", *cells])
        for name, key in (("detects at least", "epsilon_detectable"), ("limit", "epsilon_limit")):
            first = [next(r for r in here if r["size"] == size) for size in sizes]
            body.append([f"{name}, first row", *(f"{float(r[key]):.2f}" for r in first)])
        unit = "trials" if audit == "mechanism" else "records"
        tables.append(table([subject, *(f"{size:,} {unit}" for size in sizes)], body))
    alarms = [
        [r["audited"], r["unit"], f"{r['refuted']} of {r['audits']}"]
        for r in rows
        if r["audit"] == "false alarms"
    ]
    return (
        "Lower bound of ε that the audit finds, bold where it refutes the claim. An audit of this "
        "size refutes, about every other time, a mechanism whose true ε is what it *detects at "
        "least*, and none can show more than the *limit*.\n\n"
        + "\n\n".join(tables)
        + "\n\nRight mechanisms that were refuted, at 90 % confidence:\n\n"
        + table(["audited", "unit", "false alarms"], alarms)
    )


def release_audit():
    record = load("release_audit")
    fits = 2 * record["settings"]["trials"]
    right, wrong = [], []
    for row in record["rows"]:
        bounds = [f"{float(row[key]):.2f}" for key in ("epsilon_lower", "event_epsilon_lower")]
        distance = f"{float(row['mu_lower']):.2f} of {float(row['mu']):.2f}"
        if row["bug"] == "none":
            right.append([f"{float(row['epsilon']):g}", *bounds, distance])
            right[-1].append("no" if row["passed"] else "yes")
        else:
            wrong.append([row["bug"], row["model"], *bounds, distance])
            wrong[-1].append("no" if row["passed"] else "**yes**")
    names = ["bound", "by one event", "μ", "refuted"]
    return (
        f"Lower bound of the ε of a source of statistics, by {fits:,} fits, the default number, "
        "half of them with one more record, at 95 % confidence and δ = 1e-5: the greater of that "
        "of the Gaussian losses it states, by μ, and of one whatever its losses are, by a single "
        "event.\n\n" + table(["ε", *names], right) + "\n\nOf sources with a planted bug, that "
        "claim ε = 10:\n\n" + table(["bug", "model", *names], wrong)
    )


def _cell(row):
    bound = f"{float(row['epsilon_lower']):.2f}"
    return f"**{bound}**" if row["refuted"] else bound
