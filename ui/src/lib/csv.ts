// Comma-separated values (RFC 4180) as rows, for data sets that are brought as such.

/** The rows of a text; the separator is what the first line has most of: a comma, a semicolon or a tab. */
export function rows(text: string): string[][] {
  const head = text.slice(0, text.indexOf('\n') < 0 ? undefined : text.indexOf('\n'))
  const separator = [',', ';', '\t'].reduce((best, sign) => (head.split(sign).length > head.split(best).length ? sign : best))
  const all: string[][] = []
  let row: string[] = []
  let field = ''
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const sign = text[i]
    if (quoted) {
      if (sign !== '"') field += sign
      else if (text[i + 1] === '"') field += text[++i]
      else quoted = false
    } else if (sign === '"' && field === '') quoted = true
    else if (sign === separator) row.push(field), (field = '')
    else if (sign === '\n') {
      row.push(field.endsWith('\r') ? field.slice(0, -1) : field)
      all.push(row)
      ;[row, field] = [[], '']
    } else field += sign
  }
  if (field || row.length) all.push([...row, field])
  return all.filter((fields) => fields.length > 1 || fields[0] !== '')
}

/** As JSON Lines, with the names of the first row. */
export function lines(text: string): string {
  const [names, ...others] = rows(text.replace(/^\ufeff/, ''))
  return others.map((fields) => JSON.stringify(Object.fromEntries((names ?? []).map((name, i) => [name, fields[i] ?? ''])))).join('\n')
}
