"""Who runs this process, as the system knows it: by the user's number, whatever the environment says."""

import os
import pwd


def system_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # nobody has a name in a bare container
        return f"uid-{os.getuid()}"
