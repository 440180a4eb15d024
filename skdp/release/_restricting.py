"""The release of the columns that remain: the marginal of all that it knows."""

from dataclasses import replace

import numpy as np

from skdp.release._alignment import Alignment
from skdp.release._discriminant import linear_discriminant
from skdp.release._linear_marginal import restrict_linear
from skdp.release._mixture_marginal import normals_of_moments, restrict_mixtures
from skdp.utils._validation import checked_subset


def restrict_release(release, names):
    """Return the release of some of the columns, see :meth:`Release.restrict`."""
    columns, encoder = _chosen(release, names)
    p = release.n_features
    if np.array_equal(columns, np.arange(p)):
        return release
    if release.moments is None:
        raise ValueError(
            "This release has no moments, without which nothing is known of some columns alone. "
            "Ask its owner for one of DPStatisticsSource, or of DPSource(parts='noise_aware')."
        )
    return replace(
        release,
        n_features=len(columns),
        feature_names=release.feature_names[columns],
        bounds=None if release.bounds is None else release.bounds[:, columns],
        encoder=encoder,
        alignment=_permuted(release.alignment, columns),
        moments=release.moments.restrict(columns),
        row_classifier=None,
        **_scorers(release, columns),
    )


def _chosen(release, names):
    """Return the numbers of the columns that remain, and the schema of these."""
    if release.encoder is not None:
        encoder = release.encoder.restrict(names)
        wanted = encoder.encoded_names
    elif release.feature_names is not None:
        encoder = None
        wanted = checked_subset("Release.restrict", names, release.feature_names.tolist())
    else:
        raise ValueError(
            f"The {release.n_features} columns of this release have no names to restrict it by. "
            "Ask its owner for one that was made from a DataFrame, or pass rows of all columns."
        )
    place = {name: number for number, name in enumerate(release.feature_names.tolist())}
    return np.array([place[name] for name in wanted]), encoder


def _scorers(release, columns):
    """Return what scores rows of the columns that remain."""
    moments, classifier, linear = release.moments, release.classifier, release.linear
    subspace, mixtures = release.subspace, release.mixtures
    all_remain = len(columns) == release.n_features
    if linear is not None and moments.of_statistics:
        linear = restrict_linear(linear, moments, columns)
    elif linear is not None:
        # Made of these moments alone: again from what remains, noise has less of a say.
        linear = linear_discriminant(moments.restrict(columns))
    if subspace is not None:
        subspace, mixtures = restrict_mixtures(subspace, mixtures, moments, columns)
    if not all_remain or release.subspace is None:
        # Codes of all columns do not depend on the order of these; rows do.
        if classifier is not None and linear is None and mixtures is None:
            subspace, mixtures = normals_of_moments(moments, columns, len(columns))
        classifier = None
    return {
        "linear": linear,
        "subspace": subspace,
        "mixtures": mixtures,
        "classifier": classifier,
    }


def _permuted(alignment, columns):
    """Return the alignment of all columns in another order; medians of fewer are not known."""
    if alignment is None or len(columns) < len(alignment.mean):
        return None
    return Alignment(
        alignment.components[:, columns], alignment.class_medians, alignment.mean[columns]
    )
