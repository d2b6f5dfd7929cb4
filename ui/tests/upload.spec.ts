import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, watch } from './server'

const ROWS = 400_000
const PARTS = 3

test('a large file goes on where it stopped, after a broken connection and after a reload', async ({ page, server }) => {
  test.setTimeout(180_000)
  const folder = mkdtempSync(join(tmpdir(), 'anneal-rows-'))
  try {
    const file = join(folder, 'sums.jsonl')
    writeFileSync(file, Array.from({ length: ROWS }, (_, i) => `{"question": "${String(i).padStart(60, '0')}+1=", "answer": "${i + 1}"}`).join('\n'))
    const wrong = watch(page, server)
    let [sent, breaks] = [0, 2]
    await page.route('**/v1/uploads/*/parts', async (route) => {
      // The connection breaks twice at the second part; then nothing comes back until the page is loaded again.
      if (sent === 1 && breaks-- > 0) return route.abort('connectionreset')
      if (sent === 1 && breaks === -1) return
      sent += 1
      await route.continue()
    })
    await page.goto(`${server.base}/data`)
    await page.getByLabel('choose one').setInputFiles(file)
    await page.getByLabel('Column of the prompt').selectOption('question')
    await page.getByRole('button', { name: 'Upload' }).click()
    await expect.poll(() => breaks, { timeout: 60_000 }).toBe(-1)
    expect(sent).toBe(1)

    await page.reload()
    breaks = -2
    await page.getByLabel('choose one').setInputFiles(file)
    await expect(page.getByText(/\d+ % of it arrived before; it goes on there/)).toBeVisible()
    await page.getByLabel('Column of the prompt').selectOption('question')
    await page.getByRole('button', { name: 'Go on' }).click()
    await expect(page.getByRole('heading', { name: 'sums', exact: true })).toBeVisible({ timeout: 60_000 })
    expect(sent).toBe(PARTS)
    await expect(page.getByRole('row', { name: /sums/ }).getByText(ROWS.toLocaleString('en-US')).first()).toBeVisible()
    await expect(page.getByRole('region', { name: 'Prompts' }).getByRole('row')).toHaveCount(21)
    expect((await server.ask('/v1/files')).data).toEqual([])

    // Whoever stops lets go of what has arrived.
    await page.getByLabel('choose one').setInputFiles(file)
    await expect(page.getByText(/arrived before/)).toHaveCount(0)
    await page.unroute('**/v1/uploads/*/parts')
    await page.route('**/v1/uploads/*/parts', () => {})
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByRole('button', { name: 'Stop' }).click()
    await expect(page.getByRole('button', { name: 'Upload' })).toBeVisible()
    expect(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('upload')))).toEqual([])
    expect(wrong).toEqual([])
  } finally {
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    rmSync(folder, { recursive: true })
  }
})
