# The service's image, for CPU and for CUDA; the same image trains and translates corpora (`python -m models`).
# `make image` builds it, with Docker or without; docs/deployment.md says how to run it.
#
#   BASE_IMAGE     Debian with Python 3.11 to 3.13 and its venv module
#   TORCH_INDEX    where torch comes from; CUDA: https://download.pytorch.org/whl/cu130; empty: pip's own indexes
#   EXTRAS         extras of pyproject.toml; CUDA: bert,cuda (CTranslate2 needs a different cuBLAS from torch's)
#   PACKAGES       additional Debian packages; CUDA: gcc libc6-dev (Triton compiles its kernels at run time)
#   PIP_INDEX_URL  a mirror of PyPI
ARG BASE_IMAGE=docker.io/library/python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

FROM ${BASE_IMAGE} AS build
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG EXTRAS=bert
ARG PIP_INDEX_URL
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY LICENSE NOTICE constraints.txt pyproject.toml ./
# pip is only a tool of the build: the environment that is shipped does not contain it.
RUN python3 -m venv /opt/tools \
    && /opt/tools/bin/pip install --constraint constraints.txt pip \
    && python3 -m venv --without-pip /opt/antecedent
# torch is installed first and without its dependencies, as in the Makefile. The project's own modules are copied only later, so the
# dependencies have a layer of their own, which lasts until they change.
RUN /opt/tools/bin/pip --python /opt/antecedent install --constraint constraints.txt setuptools \
    && /opt/tools/bin/pip --python /opt/antecedent install --constraint constraints.txt --no-deps \
        ${TORCH_INDEX:+--index-url "${TORCH_INDEX}"} torch \
    && /opt/tools/bin/pip --python /opt/antecedent install --constraint constraints.txt --no-build-isolation ".[${EXTRAS}]" \
    && find /opt/antecedent -path '*/nvidia/cublas/lib' -exec ln -s {} /opt/antecedent/lib/cublas ';'
COPY models models
COPY service service
# Bundles are only in /models, where a volume may take their place.
RUN mv models/pretrained /models && chmod -R a+rX /models \
    && /opt/tools/bin/pip --python /opt/antecedent install --no-deps --no-build-isolation . \
    && /opt/tools/bin/pip --python /opt/antecedent check

# The bill of materials, which `make sbom` extracts.
FROM build AS bill
COPY deploy/image/sbom.py ./
RUN /opt/tools/bin/pip install --constraint constraints.txt cyclonedx-bom \
    && /opt/tools/bin/cyclonedx-py environment /opt/antecedent --pyproject pyproject.toml --output-file python.json \
    && /opt/tools/bin/python sbom.py python.json /sbom.cdx.json

FROM scratch AS sbom
COPY --from=bill /sbom.cdx.json /

FROM ${BASE_IMAGE} AS service
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Antecedent" \
    org.opencontainers.image.description="Documents translated sentence by sentence, each with the sentences before it" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.licenses="Apache-2.0 AND CC-BY-SA-3.0"
ARG PACKAGES=
# hadolint ignore=DL3008
RUN test -z "${PACKAGES}" || { apt-get update \
    && apt-get install --yes --no-install-recommends ${PACKAGES} \
    && rm -rf /var/lib/apt/lists/*; }
RUN groupadd --gid 10001 antecedent \
    && useradd --uid 10001 --gid 10001 --no-log-init --no-create-home --home-dir /tmp --shell /usr/sbin/nologin antecedent \
    && install --directory --owner antecedent --group antecedent /var/cache/antecedent
COPY --from=build /models /models
COPY --from=build /opt/antecedent /opt/antecedent
# The root file system may be read-only: everything is written to /tmp. Nothing is downloaded at run time, whatever a model
# names. CTranslate2 looks for its cuBLAS in LD_LIBRARY_PATH, a folder that exists only with the extra `cuda`.
ENV PATH=/opt/antecedent/bin:$PATH \
    LD_LIBRARY_PATH=/opt/antecedent/lib/cublas \
    HOME=/tmp \
    HF_HUB_OFFLINE=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ANTECEDENT_HOST=0.0.0.0 \
    ANTECEDENT_PORT=8000 \
    ANTECEDENT_BUNDLES=/models/ja-en
WORKDIR /tmp
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=5m --retries=3 CMD ["python", "-c", "\
import http.client, os, sys; \
probe = http.client.HTTPConnection('127.0.0.1', int(os.environ['ANTECEDENT_PORT']), timeout=4); \
probe.request('GET', '/health/ready'); \
sys.exit(probe.getresponse().status != 200)"]
ENTRYPOINT ["python", "-m", "service"]
