"""The version and the address of the project, stated once."""

VERSION = "0.1.0"
PROJECT_URL = "https://github.com/kdacheck/kdacheck"
