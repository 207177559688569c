// Writes NAME.ids of every NAME.json here, as Hugging Face's own tokenizers encode texts.json, each
// text on a line: npm install tokenizers@0.23.2 && node reference.cjs
const fs = require('fs');
const { Tokenizer } = require('tokenizers');

async function main() {
	const texts = JSON.parse(fs.readFileSync('texts.json', 'utf8'));
	const names = fs.readdirSync('.').filter((f) => f.endsWith('.json') && f !== 'texts.json');
	for (const name of names) {
		const tokenizer = Tokenizer.fromString(fs.readFileSync(name, 'utf8'));
		let out = '';
		for (const text of texts)
			out += (await tokenizer.encode(text)).getIds().join(' ') + '\n';
		fs.writeFileSync(name.replace('.json', '.ids'), out);
	}
}
main();
