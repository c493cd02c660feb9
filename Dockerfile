# Cellveil in a container: docker build -t cellveil . && docker run --rm cellveil demo
#
# Files:  docker run --rm -v "$PWD:/data" cellveil protect records.csv --by region,size --rules "FREQ(3,10)" -o out.csv
# Page:   docker run --rm -it -p 127.0.0.1:8501:8501 cellveil app --address 0.0.0.0 --port 8501 --no-browser
#         Open the address that it prints, which holds a token and opens the page once.
FROM python:3.12-slim AS built
COPY . /source
RUN pip install --no-cache-dir --prefix /installed "/source[excel,stat,app,plot]" pandas pyarrow

FROM python:3.12-slim
COPY --from=built /installed /usr/local
# A user without rights, whose home keeps what is compiled at first use; data is mounted at /data.
RUN useradd --create-home --uid 10001 cellveil && mkdir /data && chown cellveil /data
USER cellveil
ENV NUMBA_CACHE_DIR=/home/cellveil/.cache/numba
RUN cellveil doctor
WORKDIR /data
ENTRYPOINT ["cellveil"]
CMD ["--help"]
