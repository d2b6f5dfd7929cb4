import { expect, Server, test, watch } from './server'

test('an operator makes a project by its key and says what it may use', async ({ page }) => {
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  try {
    await page.goto(`${server.base}/operate?tab=keys`)
    await page.getByRole('textbox', { name: 'Name' }).fill('operator')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await expect(page.locator('pre', { hasText: 'ak_' })).toBeVisible()
    const operator = (await page.locator('pre', { hasText: 'ak_' }).textContent()) ?? ''
    await page.getByRole('textbox', { name: 'Name' }).fill('colleague')
    await page.getByRole('textbox', { name: 'Project' }).fill('group-two')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByRole('button', { name: 'Limits of group-two' }).click()
    const share = page.getByLabel('Share', { exact: true })
    await share.fill('5000')
    await page.getByLabel('Unfinished jobs').fill('many')
    await page.getByRole('button', { name: 'Set the limits' }).click()
    await expect(page.getByLabel('Unfinished jobs')).toHaveAttribute('aria-invalid', 'true')
    await page.getByLabel('Unfinished jobs').fill('3')
    await page.getByRole('button', { name: 'Set the limits' }).click()
    await expect(share).toHaveAttribute('aria-invalid', 'true')
    await expect(share).toHaveAccessibleDescription(/1000/)
    await expect(page.getByLabel('Unfinished jobs')).toHaveAttribute('aria-invalid', 'false')
    await share.fill('2')
    await page.getByLabel('Bytes stored').fill('1073741824')
    await page.getByRole('button', { name: 'Set the limits' }).click()
    await expect(page.getByText('The limits of group-two are set.')).toBeVisible()
    await expect(page.getByRole('row', { name: 'group-two 0 of 3' })).toContainText('of 1 GiB')
    // Whoever goes on by keyboard is where they were.
    await expect(page.getByRole('button', { name: 'Limits of group-two' })).toBeFocused()
    const project = await server.ask('/v1/projects/group-two', undefined, { Authorization: `Bearer ${operator}` })
    expect(project.limits).toEqual({ share: 2, requests_per_minute: null, max_unfinished_jobs: 3, max_devices: null, max_storage_bytes: 2 ** 30 })
    // An empty field is no limit.
    await page.getByRole('button', { name: 'Limits of group-two' }).click()
    await page.getByLabel('Bytes stored').fill('')
    await page.getByRole('button', { name: 'Set the limits' }).click()
    await expect(page.getByRole('row', { name: 'group-two 0 of 3' })).not.toContainText('GiB')
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})
