-- Where the rows of a version come from and what was made of them: form, packing, layout, map, and of a repository of the
-- hub the commit and the files.
alter table dataset_version add column origin text;
