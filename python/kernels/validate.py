# SPDX-License-Identifier: Apache-2.0
"""What is looked at in a variant's metadata.json before the variant is downloaded and imported."""

from kernels._record import Protocol
from kernels._rust import Metadata, Version

# Versions of Python packages; the first group is the release part.
_VERSION = r"""
    \s* v? (?:\d+!)? (\d+(?:\.\d+)*)
    (?: [-_.]? (?:alpha|a|beta|b|preview|pre|c|rc) [-_.]? \d* )?
    (?: -\d+ | [-_.]? (?:post|rev|r) [-_.]? \d* )?
    (?: [-_.]? dev [-_.]? \d* )?
    (?: \+ [a-z0-9]+ (?:[-_.][a-z0-9]+)* )? \s*
"""


class MetadataValidator(Protocol):
    """Anything with this method. It raises when the variant must not be loaded."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None: ...


class DependencyValidator:
    """ValueError for an unknown Python dependency, ImportError for one that is not installed."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        if metadata.python_depends:
            from kernels.backends import _backend
            from kernels.python_deps import validate_dependencies

            validate_dependencies(metadata.name.python_name, metadata.python_depends, _backend())


class ArchValidator:
    """RuntimeError for a variant that was not built for the GPU in use."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        from kernels.archs import _check_arch_incompatibility

        _check_arch_incompatibility(metadata, variant)


class DirtyValidator:
    """Warns of a variant that was built from files that were in no commit."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        provenance = metadata.provenance
        if provenance is None or not provenance.dirty:
            return
        sources = {"kernel source": provenance.kernel, "kernel-builder": provenance.kernel_builder.git}
        dirty = " and ".join(name for name, status in sources.items() if status is not None and status.dirty)
        import logging

        logging.getLogger(__name__).warning(
            "Kernel '%s' variant '%s' was built from a dirty git tree (%s).", metadata.name, variant, dirty
        )


class MinverValidator:
    """RuntimeError for a kernel that needs a newer version of this package."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        needed = metadata.kernels_minver
        installed = _installed_version() if needed is not None else None
        if installed is not None and installed < needed:
            raise RuntimeError(
                f"Kernel '{metadata.name}' variant '{variant}' requires kernels>={needed}, but version {_version_text()} is "
                "installed. Upgrade with: pip install --upgrade kernels"
            )


class AllValidator:
    """Several validators, one after the other."""

    def __init__(self, validators: list[MetadataValidator]) -> None:
        self.validators = validators

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        for validator in self.validators:
            validator.validate_metadata(metadata=metadata, variant=variant)


def default_metadata_validators() -> list[MetadataValidator]:
    """What loading looks at. The minimum version comes first: a new kernel may have dependencies that are unknown here."""
    return [MinverValidator(), DependencyValidator(), DirtyValidator()]


def _version_text() -> str:
    import kernels

    return kernels.__version__


def _installed_version() -> Version | None:
    """The release part of this package's version, 0.17.0 of "1!0.17.0rc1+x"; None for a text that is no version."""
    text = _version_text()
    if not all(part.isdigit() for part in text.split(".")):
        import re

        found = re.fullmatch(_VERSION, text, re.VERBOSE | re.IGNORECASE | re.ASCII)
        if found is None:
            return None
        text = found[1]
    return Version.from_str(text)
