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
    fits = record["settings"]["fits"]
    body = [
        [
            f"{float(row['epsilon']):g}",
            *(f"{float(row[key]):.2f}" for key in ("epsilon_lower", "event_epsilon_lower")),
            f"{float(row['mu_lower']):.3f} of {float(row['mu']):.3f}",
            "yes" if row["passed"] else "no",
        ]
        for row in record["rows"]
    ]
    names = ["ε", "bound", "by one event", "μ", "passed"]
    return (
        f"Lower bound of the ε of a source of statistics, by {fits:,} fits, half of them with one "
        "more record, at 95 % confidence and δ = 1e-5: that of the Gaussian losses it states, by "
        "μ, and one whatever its losses are, by a single event.\n\n" + table(names, body)
    )


def _cell(row):
    bound = f"{float(row['epsilon_lower']):.2f}"
    return f"**{bound}**" if row["refuted"] else bound
