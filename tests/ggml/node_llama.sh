#!/bin/sh
# node_llama.sh LIBRARY PROBE STOCK: node-llama-cpp says the same of the machine with ggml's registry library and with ours in its place,
# swapped by LD_LIBRARY_PATH and by file. Exit 77: it could not be had, and why.
set -eu
library=$1 probe=$2 stock=$3
version=3.22.1 name=libggml.v0.5.0.so
skip() {
    echo "skipped: $*"
    exit 77
}
command -v node >/dev/null 2>&1 || skip "there is no node"
[ -e "$stock/$name" ] || skip "no ggml at $stock: run scripts/fetch-ggml.sh"
app=$stock/../../../nlc-app
if [ ! -e "$app/node_modules/node-llama-cpp/package.json" ]; then
    mkdir -p "$app"
    echo '{"name":"backplane-test","private":true,"type":"module"}' >"$app/package.json"
    (cd "$app" && npm install --silent --ignore-scripts --no-audit --no-fund --omit=optional "node-llama-cpp@$version" "@node-llama-cpp/linux-x64@$version" >/dev/null 2>&1) ||
        { rm -rf "$app"; skip "npm could not install node-llama-cpp@$version"; }
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export BACKPLANE_STATE_DIR="$scratch/state"
cat >"$app/report.mjs" <<'JS'
import { getLlama } from "node-llama-cpp";
const llama = await getLlama({ build: "never", progressLogs: false, logLevel: "error", gpu: false });
console.log(JSON.stringify({ gpu: llama.gpu, devices: await llama.getGpuDeviceNames(), cores: llama.cpuMathCores, info: llama.systemInfo }));
await llama.dispose();
JS
report() { (cd "$1" && timeout 120 node report.mjs); }

report "$app" >"$scratch/stock"
mkdir "$scratch/beside"
cp "$library" "$scratch/beside/$name"
cp "$probe" "$scratch/beside"
LD_LIBRARY_PATH="$scratch/beside" report "$app" >"$scratch/by-path"
cp -r "$app" "$scratch/app"
bins=$scratch/app/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
cp "$library" "$bins/$name"
cp "$probe" "$bins"
report "$scratch/app" >"$scratch/by-file"
cat "$scratch/stock"
grep -q 'AVX\|NEON' "$scratch/stock" || { echo "the stock library reported no CPU backend: nothing to compare with"; exit 1; }
ls "$BACKPLANE_STATE_DIR"/folders/*.txt >/dev/null || { echo "ours was not asked"; exit 1; }
cmp "$scratch/stock" "$scratch/by-path"
cmp "$scratch/stock" "$scratch/by-file"
echo "the same with ours in its place, by LD_LIBRARY_PATH and by file"
