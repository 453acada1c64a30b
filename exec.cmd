@rem The scripts of package.json begin with exec, so that npm's SIGTERM reaches the program and not only npm's shell.
@rem Windows has no such command: its shell finds this file and runs the rest of the line.
@%*
