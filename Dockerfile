FROM node:24-slim
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci
COPY src src
COPY ingest ingest
COPY query query
COPY store store
# The build reads tests and benches too; the image does not run them.
COPY test test
COPY bench bench
RUN npm run build && mkdir /data && chown node /data
# Whoever runs the image sets PUBLIC_HOST, the name that devices reach it by: nobody can connect to 0.0.0.0.
ENV HOST=0.0.0.0 DATA_DIR=/data
USER node
VOLUME /data
EXPOSE 8080 1883 8083 8084 8883 8884
CMD ["node", "src/tidemark.mjs", "serve"]
