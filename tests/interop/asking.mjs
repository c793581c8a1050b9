// Asks a server of gRPC's interoperability tests with @grpc/grpc-js; it prints the cases that pass.
// Arguments: the address, and with TLS the certificate of the authority.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const grpc = createRequire(process.cwd() + "/")("@grpc/grpc-js");
const [address, authority] = process.argv.slice(2);
const credentials = authority
  ? grpc.credentials.createSsl(readFileSync(authority))
  : grpc.credentials.createInsecure();
const client = new grpc.Client(address, credentials);
const same = (bytes) => bytes;
const path = (name) => `/grpc.testing.TestService/${name}`;
const soon = (s = 30) => ({ deadline: Date.now() + s * 1000 });

// Messages as they stand on the wire: fields of numbers and of bytes.
const varint = (n) => (n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))]);
const number = (field, n) => Buffer.from([...varint(field * 8), ...varint(n)]);
const bytes = (field, content) =>
  Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(content.length)]), content]);
const payload = (field, size) => bytes(field, bytes(2, Buffer.alloc(size)));
const asked = (size, waitUs = 0) => bytes(2, Buffer.concat([number(1, size), number(2, waitUs)]));

function unary(name, request, metadata = new grpc.Metadata(), options = soon()) {
  return new Promise((resolve) => {
    const seen = {};
    const call = client.makeUnaryRequest(
      path(name), same, same, request, metadata, options,
      (error, answer) => Object.assign(seen, { error, answer }));
    call.on("metadata", (initial) => { seen.initial = initial; });
    call.on("status", (status) => resolve({ ...seen, status }));
  });
}

function streamed(call) {
  return new Promise((resolve) => {
    const answers = [];
    call.on("data", (answer) => answers.push(answer.length));
    call.on("error", () => {});
    call.on("status", (status) => resolve({ answers, status }));
  });
}

const cases = {
  async empty() {
    const { answer, status } = await unary("EmptyCall", Buffer.alloc(0));
    assert.deepStrictEqual([answer.length, status.code], [0, 0]);
  },
  async large() {
    const request = Buffer.concat([number(2, 314159), payload(3, 271828)]);
    const { answer } = await unary("UnaryCall", request);
    assert.strictEqual(answer.length, payload(1, 314159).length);
  },
  async many() {
    const requests = Array.from({ length: 200 }, () => unary("UnaryCall", number(2, 1000)));
    for (const { status } of await Promise.all(requests)) assert.strictEqual(status.code, 0);
  },
  async metadata() {
    const metadata = new grpc.Metadata();
    metadata.set("x-grpc-test-echo-initial", "a value");
    metadata.set("x-grpc-test-echo-trailing-bin", Buffer.from([0, 171, 255]));
    const { initial, status } = await unary("UnaryCall", number(2, 1), metadata);
    assert.deepStrictEqual(initial.get("x-grpc-test-echo-initial"), ["a value"]);
    const [trailing] = status.metadata.get("x-grpc-test-echo-trailing-bin");
    assert.deepStrictEqual([...trailing], [0, 171, 255]);
  },
  async status() {
    const message = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \ud83d\ude08\t\n";
    const request = bytes(7, Buffer.concat([number(1, 2), bytes(2, Buffer.from(message))]));
    const { status } = await unary("UnaryCall", request);
    assert.deepStrictEqual([status.code, status.details], [2, message]);
  },
  async unknown() {
    const { status } = await unary("UnimplementedCall", Buffer.alloc(0));
    assert.strictEqual(status.code, grpc.status.UNIMPLEMENTED);
  },
  async answers() {
    const sizes = [31415, 9, 2653, 58979, 1000000];
    const { answers, status } = await streamed(client.makeServerStreamRequest(
      path("StreamingOutputCall"), same, same, Buffer.concat(sizes.map((each) => asked(each))),
      new grpc.Metadata(), soon()));
    assert.deepStrictEqual(answers, sizes.map((each) => payload(1, each).length));
    assert.strictEqual(status.code, 0);
  },
  async requests() {
    const answer = await new Promise((resolve, reject) => {
      const call = client.makeClientStreamRequest(
        path("StreamingInputCall"), same, same, new grpc.Metadata(), soon(),
        (error, found) => (error ? reject(error) : resolve(found)));
      for (const size of [27182, 8, 1828, 45904]) call.write(payload(1, size));
      call.end();
    });
    assert.deepStrictEqual(answer, number(1, 74922));
  },
  async both() {
    const call = client.makeBidiStreamRequest(
      path("FullDuplexCall"), same, same, new grpc.Metadata(), soon());
    const sizes = [31415, 9, 2653, 58979];
    let turn = 0;
    const next = () => (turn < sizes.length ? call.write(asked(sizes[turn++])) : call.end());
    call.on("data", next);
    const ended = streamed(call);
    next();
    const { answers, status } = await ended;
    assert.deepStrictEqual([answers.length, status.code], [4, 0]);
  },
  async deadline() {
    const { status } = await streamed(client.makeServerStreamRequest(
      path("StreamingOutputCall"), same, same, asked(1, 60000000), new grpc.Metadata(), soon(0.2)));
    assert.strictEqual(status.code, grpc.status.DEADLINE_EXCEEDED);
  },
  async cancel() {
    const call = client.makeBidiStreamRequest(
      path("FullDuplexCall"), same, same, new grpc.Metadata(), soon());
    call.on("data", () => call.cancel());
    const ended = streamed(call);
    call.write(asked(31415));
    const { status } = await ended;
    assert.strictEqual(status.code, grpc.status.CANCELLED);
  },
};

for (const [name, run] of Object.entries(cases)) {
  await run();
  console.log("passed", name);
}
client.close();
