# SPDX-License-Identifier: Apache-2.0
from kernels._errors import BadRequestError as BadRequestError
from kernels._errors import DisabledRepoError as DisabledRepoError
from kernels._errors import EntryNotFoundError as EntryNotFoundError
from kernels._errors import GatedRepoError as GatedRepoError
from kernels._errors import HfHubHTTPError as HfHubHTTPError
from kernels._errors import HFValidationError as HFValidationError
from kernels._errors import HTTPError as HTTPError
from kernels._errors import LocalEntryNotFoundError as LocalEntryNotFoundError
from kernels._errors import LocalTokenNotFoundError as LocalTokenNotFoundError
from kernels._errors import OfflineModeIsEnabled as OfflineModeIsEnabled
from kernels._errors import RemoteEntryNotFoundError as RemoteEntryNotFoundError
from kernels._errors import RepositoryNotFoundError as RepositoryNotFoundError
from kernels._errors import RevisionNotFoundError as RevisionNotFoundError
