#!/bin/sh
# Builds the image where there is neither Docker nor a registry: with buildah, on a Debian made on the spot.
#
#   deploy/image/build.sh [OPTION OF buildah build]... .
#
# Debian's packages buildah and debootstrap are all that it needs; debootstrap wants root, buildah does not. A machine with pip
# configuration or certificates of its own gives them by options: --volume /etc/pip.conf:/etc/pip.conf:ro, for example.
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
    rm -rf "$folder"  # `exec` below leaves nothing to the trap
    trap - EXIT
}

buildah inspect --type image "$BASE" >/dev/null 2>&1 || make_base
exec buildah build --format docker --build-arg BASE_IMAGE="$BASE" "$@"
