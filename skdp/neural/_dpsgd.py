"""The baseline, by Opacus: gradients that are clipped row by row and summed with noise."""

import warnings
from copy import deepcopy

import torch

from skdp.neural._accounts import PrivacyAccount

# Rows whose gradients are held at once (rule of thumb: half a gigabyte for the paper's network).
_AT_ONCE = 512


def train_dpsgd(
    network,
    rows,
    labels,
    *,
    epsilon,
    delta,
    batch_size,
    n_epochs,
    learning_rate,
    max_grad_norm,
    generator,
    progress,
):
    """Train by DP-SGD (Abadi et al., 2016) with the privacy accountant of Opacus.

    Parameters
    ----------
    network : Network
        Of layers that treat each row by itself; is changed.

    rows, labels : Tensors of shape (n_samples, n_features) and (n_samples,)
        Private.

    epsilon, delta : float
        What the training may spend, for one labelled record that is added or removed.

    batch_size : int
        Expected size of a batch; each row is in it by itself, by chance.

    n_epochs, learning_rate, max_grad_norm : int, float, float
        Of Adam; largest norm of the gradient of one row.

    generator : Generator
        Batches, and the seed of the noise.

    progress : callable
        Is told the number of each epoch that is done.

    Returns
    -------
    account : PrivacyAccount
        As the accountant counts it.

    Raises
    ------
    ImportError
        When Opacus is not installed.
    """
    try:
        from opacus import PrivacyEngine
        from opacus.utils.batch_memory_manager import BatchMemoryManager
    except ImportError as error:
        raise ImportError(
            "mechanism='dpsgd' needs Opacus, which is not installed here. Install it with "
            "pip install 'skdp[neural]'."
        ) from error
    data = torch.utils.data.TensorDataset(rows, labels)
    loader = torch.utils.data.DataLoader(data, min(batch_size, len(rows)), generator=generator)
    # Opacus leaves the gradients of single rows on the parameters that it trains, which go
    # into every pickle: those of a copy, which is thrown away.
    trained = deepcopy(network).train()
    optimiser = torch.optim.Adam(trained.parameters(), lr=learning_rate)
    with warnings.catch_warnings():
        # Of its default generator and of hooks: said in the classifier's own Notes.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # log(0) in its accountant, by design
        engine = PrivacyEngine()
        model, optimiser, loader = _make_private(
            engine,
            module=trained,
            optimizer=optimiser,
            data_loader=loader,
            target_epsilon=epsilon,
            target_delta=delta,
            epochs=n_epochs,
            max_grad_norm=max_grad_norm,
            noise_generator=_noise_generator(generator, rows.device),
        )
        settings = {"max_physical_batch_size": _AT_ONCE, "optimizer": optimiser}
        for epoch in range(n_epochs):
            with BatchMemoryManager(data_loader=loader, **settings) as parts:
                for some_rows, some_labels in parts:
                    optimiser.zero_grad()
                    torch.nn.functional.cross_entropy(model(some_rows), some_labels).backward()
                    optimiser.step()
            progress(epoch + 1)
        spent = engine.get_epsilon(delta)
    network.load_state_dict(trained.state_dict())
    network.eval()
    return PrivacyAccount(
        "composition",
        "one labelled record, added or removed",
        float(spent),
        float(delta),
        True,
        "each row's gradient is clipped, and noise is added to their sum at every step",
    )


def _make_private(engine, **settings):
    try:
        return engine.make_private_with_epsilon(**settings)
    except ValueError as error:
        raise ValueError(
            f"No noise reaches epsilon={settings['target_epsilon']:g} at delta="
            f"{settings['target_delta']:g} in {settings['epochs']} epochs: use a larger 'epsilon' "
            "or fewer 'n_epochs'."
        ) from error


def _noise_generator(generator, device):
    """Return the generator of the noise, which has to be where the gradients are."""
    seed = torch.randint(2**62, (), generator=generator).item()
    return torch.Generator(device).manual_seed(seed)
