"""Calls each operation of the client that openapi-python-client generated, and prints the status and the type of each answer.

Arguments: the folder that the client was generated into, the address of the service, the key, a file of calls:
[{"operation", "module", "parameters": {name: value}, "body"}].
"""
import importlib
import inspect
import io
import json
import pathlib
import sys
import typing

folder, url, key, calls = sys.argv[1:5]
sys.path.insert(0, folder)
package = "trawl_client"
for path in pathlib.Path(folder, package).rglob("*.py"):  # every module compiles and loads
    importlib.import_module(".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"))
client = importlib.import_module(package).AuthenticatedClient(
    base_url=url, token=key, raise_on_unexpected_status=True, timeout=30
)
File = importlib.import_module(f"{package}.types").File
modules = {path.stem: path for path in pathlib.Path(folder, package, "api").rglob("*.py")}
answers = {}
for call in json.loads(pathlib.Path(calls).read_text()):
    path = modules[call["module"]]
    module = importlib.import_module(f"{package}.api.{path.parent.name}.{path.stem}")
    names = inspect.signature(module.sync_detailed).parameters
    # A header field and a query parameter of one name get a suffix.
    arguments = {name if name in names else f"{name}_query": value for name, value in call["parameters"].items()}
    if isinstance(call["body"], str):
        arguments["body"] = File(payload=io.BytesIO(call["body"].encode()))
    elif call["body"] is not None:
        body = typing.get_type_hints(module.sync_detailed)["body"]
        model = next(kind for kind in (typing.get_args(body) or (body,)) if hasattr(kind, "from_dict"))
        arguments["body"] = model.from_dict(call["body"])
    answer = module.sync_detailed(client=client, **arguments)
    answers[call["operation"]] = [int(answer.status_code), type(answer.parsed).__name__]
print(json.dumps(answers))
