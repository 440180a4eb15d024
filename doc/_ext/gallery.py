"""Order of the examples, and what their figures say to those who do not see them."""

import re

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import matplotlib_scraper

# Files in the order in which they are shown, folder by folder; others follow by name.
ORDER = (
    *("plot_first_release.py", "plot_four_hospitals.py"),
    # tables
    *("plot_schema.py", "plot_visits.py", "plot_number.py", "plot_survival.py"),
    *("plot_explanations.py", "plot_frequencies_and_costs.py", "plot_synthetic_rows.py"),
    *("plot_transferability.py", "plot_larger_than_memory.py"),
    # privacy
    *("plot_choosing_epsilon.py", "plot_budget_over_a_year.py", "plot_officers_page.py"),
    *("plot_private_evaluation.py", "plot_audit_release.py"),
    # more
    *("plot_image_release.py", "plot_secure_combination.py", "plot_joint_descent.py"),
)


class InOrder:
    """Key by which sphinx-gallery sorts the files of a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, file):
        """Return the place of a file."""
        return (ORDER.index(file) if file in ORDER else len(ORDER), file)


def figures(block, variables, settings):
    """Save figures as sphinx-gallery does; the label of each is its alternative text."""
    labels = iter([plt.figure(number).get_label() for number in plt.get_fignums()])
    text = matplotlib_scraper(block, variables, settings)
    return re.sub(r"(?<=:alt: ).*", lambda alt: next(labels, "") or alt[0], text)
