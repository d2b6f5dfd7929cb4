-- The pool whose machines a job runs on, where it names one. Who does not know it would run the job elsewhere.

alter table job add column pool text;

update compatibility set oldest = 45;
