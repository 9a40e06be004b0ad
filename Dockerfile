# The same toolchain for people with Docker: docker build -t tabgrad . && docker run --rm -it -v "$PWD:$PWD" -w "$PWD" tabgrad make test
FROM debian:forky
COPY tools/toolchain /opt/tabgrad/tools/toolchain
RUN apt-get update && apt-get install -y --no-install-recommends make && /opt/tabgrad/tools/toolchain/setup && apt-get clean
