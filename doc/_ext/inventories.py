"""Names of other projects that pages link to, so that a build needs no network."""

import tempfile
import zlib
from pathlib import Path

# Address of a project, the page of a name there, and names by role.
PROJECTS = {
    "sklearn": (
        "https://scikit-learn.org/stable/",
        "modules/generated/{0}.html#{0}",
        {
            "py:class": """
            sklearn.compose.TransformedTargetRegressor sklearn.frozen.FrozenEstimator
            sklearn.linear_model.LogisticRegression sklearn.model_selection.GridSearchCV
            sklearn.model_selection.GroupKFold sklearn.model_selection.HalvingGridSearchCV
            sklearn.neighbors.NearestCentroid sklearn.pipeline.FeatureUnion
            sklearn.pipeline.Pipeline sklearn.svm.SVC sklearn.utils.Bunch
            sklearn.utils.metadata_routing.MetadataRequest""",
            "py:function": """sklearn.base.clone sklearn.datasets.fetch_openml
            sklearn.model_selection.learning_curve sklearn.model_selection.validation_curve""",
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        "reference/generated/{0}.html#{0}",
        {"py:class": "numpy.memmap"},
    ),
    "joblib": (
        "https://joblib.readthedocs.io/en/stable/",
        "generated/{0}.html#{0}",
        {"py:class": "joblib.parallel_config"},
    ),
}


def local_inventories():
    """Write an objects.inv for each project; return intersphinx_mapping."""
    folder = Path(tempfile.mkdtemp(prefix="inventories"))
    return {
        project: (address, str(_write(folder / f"{project}.inv", project, page, names)))
        for project, (address, page, names) in PROJECTS.items()
    }


def _write(path, project, page, names):
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n# zlib\n"
    lines = [
        f"{name} {role} 1 {page.format(name)} -\n"
        for role, some in names.items()
        for name in some.split()
    ]
    path.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
    return path
