"""Tables of mixed columns: public schemas, and the encoding of rows as numbers in [0, 1].

Everything here depends on the schema and one row at a time, never on other rows: bounds and
categories of private rows are private themselves.
"""

from skdp.tabular._agreement import column_texts
from skdp.tabular._check import (
    COLUMN_KINDS,
    TABLE_KINDS,
    TableFinding,
    TableReport,
    check_table,
    unread_findings,
)
from skdp.tabular._columns import (
    LEAST,
    CategoryColumn,
    NumericColumn,
    cells_without_value,
    mostly_far_outside,
)
from skdp.tabular._drafting import rounded_bounds, schema_from, unfit_columns
from skdp.tabular._encoder import (
    TabularEncoder,
    encode_table,
    fitted_encoder,
    refuse_other_types,
)
from skdp.tabular._explanation import ColumnEffect, Explanation, explain_prediction
from skdp.tabular._mistakes import (
    ALIKE,
    MANY,
    is_record_number,
    missing_marks,
    missing_option,
    number_forms,
    number_reader,
    odd_rows,
    same_spelling,
)
from skdp.tabular._movable_columns import bounded_columns
from skdp.tabular._outcomes import (
    INTERVAL_ENDS,
    N_INTERVALS,
    ClassOutcome,
    EventOutcome,
    NumberOutcome,
    Outcome,
    outcome_from,
    outcome_of,
)
from skdp.tabular._schema import Schema, as_schema, class_fault
from skdp.tabular._values import (
    Vocabulary,
    canonical,
    missing_values,
    numbers,
    person_ids,
    spelled_as,
    truths,
)

# The others are shared within skdp, undocumented.
__all__ = [
    "CategoryColumn",
    "ClassOutcome",
    "ColumnEffect",
    "EventOutcome",
    "Explanation",
    "NumberOutcome",
    "NumericColumn",
    "Schema",
    "TableFinding",
    "TableReport",
    "TabularEncoder",
    "check_table",
    "explain_prediction",
    "schema_from",
]
