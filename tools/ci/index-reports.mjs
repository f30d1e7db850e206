/** Writes index.html into a folder of conformance reports, with a link to each: `node tools/ci/index-reports.mjs <folder>`. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder = 'reports'] = process.argv.slice(2)
const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'conformance.html')))
const items = names.sort().map((name) => `<li><a href="${name}/conformance.html">${name}</a></li>`)
const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Conformance of the drivers of osm-ts</title>
<h1>Conformance of the drivers of osm-ts</h1>
<ul>
${items.join('\n')}
</ul>
</html>
`
writeFileSync(join(folder, 'index.html'), page)
process.stdout.write(`${join(folder, 'index.html')}: ${names.length} reports\n`)
