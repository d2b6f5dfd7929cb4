-- Who could administer all projects goes on doing so; from now on `admin` is for one's own.
update api_key set scopes = scopes || ' operator' where ' ' || scopes || ' ' like '% admin %';
