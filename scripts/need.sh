#!/bin/sh
# Sees to it that a program of the system works, and installs it where that is possible without asking: as root or with a
# sudo that needs no password on Debian and Ubuntu, or with Homebrew. Otherwise one line says how.
#
#   need.sh 'TRY' 'DEBIAN_PACKAGE ...' HOMEBREW_FORMULA 'WHAT FOR'
#
# Of several Debian packages the first one that can be had is installed; the last one is there everywhere.
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
