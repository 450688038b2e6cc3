# docker build --build-arg COMMIT="$(git rev-parse HEAD)" -t tidemark .
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json ./
RUN npm ci --ignore-scripts
COPY src src
COPY ingest ingest
COPY query query
COPY store store
# The build reads tests and benches too; the image does not have them.
COPY test test
COPY bench bench
RUN npm run build
ARG COMMIT=""
RUN printf '%s' "$COMMIT" > dist/commit.txt

# The service is one file; beside it only what is native, or read as files.
FROM node:24-slim
WORKDIR /app
COPY LICENSE package.json ./
COPY --from=build /app/node_modules/libsql node_modules/libsql
COPY --from=build /app/node_modules/@libsql node_modules/@libsql
COPY --from=build /app/node_modules/@neon-rs node_modules/@neon-rs
COPY --from=build /app/node_modules/detect-libc node_modules/detect-libc
COPY --from=build /app/node_modules/swagger-ui-dist node_modules/swagger-ui-dist
COPY --from=build /app/dist/service dist/service
COPY --from=build /app/dist/commit.txt dist/commit.txt
COPY src/tidemark.mjs src/tidemark.mjs
RUN ln -s /app/src/tidemark.mjs /usr/local/bin/tidemark && mkdir /data && chown node:node /data
# Whoever runs the image sets PUBLIC_HOST, the name that devices reach it by: nobody can connect to 0.0.0.0.
# Two arenas of malloc: with more, what threads have freed stays where others cannot use it, and the memory grows.
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data MALLOC_ARENA_MAX=2
USER node
VOLUME /data
EXPOSE 8080 8443 1883 8883 8884 8083 8084
# Nothing is written outside /data: --read-only is fine.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HTTP_PORT ?? 8080}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/tidemark.mjs", "serve"]
