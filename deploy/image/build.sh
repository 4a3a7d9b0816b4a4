#!/bin/sh
# Builds the image where there is neither Docker nor a registry: with buildah, on a Debian that is installed on the spot.
#
#   deploy/image/build.sh [OPTION OF buildah build]... .
#
# It needs only the Debian packages buildah and debootstrap; debootstrap requires root, buildah does not. If the machine has a pip
# configuration or certificates of its own, pass them by options, for example --volume /etc/pip.conf:/etc/pip.conf:ro.
set -eu
cd "$(dirname "$0")/../.."
export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}"
BASE=localhost/antecedent-base:bookworm

make_base() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv bookworm "$folder"
    rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/*
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$folder" /
    buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    buildah commit --quiet --rm "$container" "$BASE"
    rm -rf "$folder"  # the trap does not run after the `exec` below
    trap - EXIT
}

buildah inspect --type image "$BASE" >/dev/null 2>&1 || make_base
exec buildah build --format docker --build-arg BASE_IMAGE="$BASE" "$@"
