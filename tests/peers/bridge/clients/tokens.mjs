// Counts the tokens of each text of a list, by the tokenizer `o200k_base`.
import { createRequire } from 'node:module';
const { encode } = createRequire(`${process.argv[2]}/`)('gpt-tokenizer/encoding/o200k_base');
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const texts = JSON.parse(Buffer.concat(chunks).toString());
console.log(JSON.stringify(texts.map((text) => encode(text).length)));
