#!/bin/sh
# Checks that a system program works, and installs it if that needs no password: as root or with sudo on Debian and
# Ubuntu, or with Homebrew. Otherwise an error says how to install it.
#
#   need.sh 'TRY' 'DEBIAN_PACKAGE ...' HOMEBREW_FORMULA 'WHAT FOR'
#
# The first available Debian package is installed; the last one is available everywhere.
set -u
try=$1 debian=$2 homebrew=$3 reason=$4

works() { sh -c "$try" >/dev/null 2>&1; }

works && exit 0
if command -v apt-get >/dev/null; then
  if [ "$(id -u)" = 0 ]; then root=; elif sudo -n true 2>/dev/null; then root=sudo; else root=none; fi
  if [ "$root" != none ]; then
    # shellcheck disable=SC2086  (empty for root)
    $root apt-get update -qq && for package in $debian; do
      echo "installing $package: $reason"
      $root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$package" >/dev/null && break
    done
  fi
elif command -v brew >/dev/null; then
  echo "installing $homebrew: $reason"
  brew install --quiet "$homebrew"
fi
works && exit 0
echo "$reason: install it with 'sudo apt-get install ${debian##* }' (Debian, Ubuntu) or 'brew install $homebrew' (macOS)" >&2
exit 1
