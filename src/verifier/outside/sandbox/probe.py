# What of the machine a Python interpreter needs: its own file, the folders of its modules, and its shared libraries.
import importlib, json, os, sys

folders = [os.path.realpath(path) for path in sys.path if path and os.path.isdir(path)]
dynamic = [folder for folder in folders if os.path.basename(folder) == "lib-dynload"]
for name in [name.partition(".")[0] for folder in dynamic for name in os.listdir(folder)] + ["numpy"]:
    if "test" not in name:
        try:
            importlib.import_module(name)
        except BaseException:
            pass
loaded = set()
for line in open("/proc/self/maps"):
    path = line.split(maxsplit=5)[5:]
    if path and ".so" in path[0] and os.path.isfile(path[0].strip()):
        loaded.add(os.path.realpath(path[0].strip()))
libraries = set(loaded)
# The names under which libraries are asked for are links beside them.
for folder in {os.path.dirname(library) for library in loaded}:
    for entry in os.scandir(folder):
        if entry.name.startswith("lib") and ".so." in entry.name and entry.is_symlink():
            if os.path.realpath(entry.path) in loaded:
                libraries.add(entry.path)
libraries = [path for path in sorted(libraries) if not any(path.startswith(folder + "/") for folder in folders)]
print(json.dumps({"executable": os.path.realpath(sys.executable), "version": list(sys.version_info[:2]),
                  "folders": folders, "libraries": libraries, "numpy": "numpy" in sys.modules}))
