"""A few lines for humans: what a release is, and what it guarantees."""


def describe(release):
    """Return the text of :meth:`Release.summary`."""
    labels = ", ".join(str(label) for label in release.classes.tolist())
    contents = ("\n" + " " * 14).join(_contents(release))
    both = release.record_guarantee
    covered = both is release.guarantee
    together = "no guarantee of a record with its label: labels not protected"
    if both is not None:
        together = (
            f"({both.epsilon:g}, {both.delta:g})-differential privacy per {both.unit}, all "
            "features of a row and its label"
        )
    return (
        f"Release of a private source: {len(release.classes)} classes ({labels}), "
        f"{release.n_features} features\n"
        f"  holds:      {contents}\n"
        f"  guarantee:  {release.guarantee}\n"
        f"  labels:     {_about_labels(release, covered)}\n"
        f"  together:   {together}"
    )


def _about_labels(release, covered):
    if covered:
        return "protected together with the features"
    return release.label_guarantee or "not protected"


def _contents(release):
    """Yield a phrase for each part that there is."""
    own = "noisy" if release.subspace is None else "denoised"
    kinds = {own: release.classifier}
    if release.row_classifier is not release.classifier:
        kinds["noisy"] = release.row_classifier
    for rows, classifier in kinds.items():
        if classifier is not None:
            subsets = [a for group in classifier.autoencoders_by_class() for a in group]
            depth = len(subsets[0].precisions_)
            yield f"{len(subsets)} autoencoders (depth {depth}) of {rows} rows"
    if release.moments is not None:
        yield "moments of each class"
    if release.mixtures is not None:
        yield f"{len(release.mixtures.weights)} normal distributions"
    if release.linear is not None:
        yield "linear scores"
