# Images of anneal. deploy/README.md says how to run them; scripts/check_image.sh tests them without an engine.
#
#   docker build -t anneal .                          the CPU
#   docker build -t anneal:cuda --target cuda .       NVIDIA GPUs through the NVIDIA container runtime
#
# Needs BuildKit, for the cache mounts. --build-arg ANNEAL_COMMIT=$(git rev-parse --short=12 HEAD) tells
# `anneal --version` what was built; the sources come without their history.

# The program is linked against the C library of the release it was built on, so both sides have the same.
ARG DEBIAN=bookworm
ARG RUST=1.95

# ---- building ----

FROM rust:${RUST}-slim-${DEBIAN} AS build-cpu
WORKDIR /src
COPY . .
ARG ANNEAL_COMMIT
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,id=anneal-target-cpu,target=/src/target,sharing=locked \
    cargo build --locked --release \
 && install -D target/release/anneal /out/anneal

FROM rust:${RUST}-slim-${DEBIAN} AS build-cuda
WORKDIR /src
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ python3 python3-pip \
 && rm -rf /var/lib/apt/lists/*
COPY scripts/cuda_build.sh scripts/
RUN scripts/cuda_build.sh --env /opt/cuda-13.0
COPY . .
ARG ANNEAL_COMMIT
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,id=anneal-target-cuda,target=/src/target,sharing=locked \
    scripts/cuda_build.sh /opt/cuda-13.0 \
 && install -D target/release/anneal /out/anneal

# The libraries that the program looks for when it runs, of the CUDA release that its kernels are compiled with.
FROM debian:${DEBIAN}-slim AS cuda-libraries
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 python3-pip \
 && rm -rf /var/lib/apt/lists/*
COPY scripts/cuda_libraries.sh /usr/local/sbin/
RUN cuda_libraries.sh /usr/local/lib/anneal

# ---- running ----

FROM debian:${DEBIAN}-slim AS runtime
# The numbers are fixed, so that a volume keeps its owner from image to image.
RUN groupadd --gid 10001 anneal \
 && useradd --uid 10001 --gid 10001 --no-log-init --no-create-home --home-dir /var/lib/anneal \
      --shell /usr/sbin/nologin anneal \
 && install --directory --owner=10001 --group=10001 --mode=0750 /var/lib/anneal
COPY LICENSE LICENSE-APACHE LICENSE-MIT /usr/share/doc/anneal/
ENV ANNEAL_DATA_DIR=/var/lib/anneal
VOLUME /var/lib/anneal
# An anneal.toml that is mounted here is read.
WORKDIR /etc/anneal
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["anneal", "health"]
# The program takes SIGTERM itself, as process 1 too, and waits for its only children, the workers: no init is needed.
# It may take 12 seconds to save running jobs: run it with --stop-timeout 30.
STOPSIGNAL SIGTERM
ENTRYPOINT ["anneal"]
CMD ["serve"]

FROM runtime AS cuda
COPY --from=cuda-libraries /usr/local/lib/anneal/ /usr/local/lib/anneal/
RUN echo /usr/local/lib/anneal > /etc/ld.so.conf.d/anneal.conf \
 && ldconfig \
 && ldd /usr/local/lib/anneal/*.so.* > /tmp/ldd \
 && ! grep 'not found' /tmp/ldd \
 && rm /tmp/ldd
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=build-cuda /out/anneal /usr/local/bin/anneal
USER 10001:10001

# The last stage is what `docker build` makes when it is not told.
FROM runtime AS cpu
COPY --from=build-cpu /out/anneal /usr/local/bin/anneal
USER 10001:10001
