"""What developers type all day. None of it may be called destructive or opaque; the first table only reads."""

READING = r"""
ls
ls -la
ls -la src tests
ls *.py
ls "my folder"
pwd
cd src && ls
cd src; ls -l; cd ..
cat README.md
cat src/a.py src/b.py
cat 'a b.txt'
head -20 x.txt
head -n 20 x.txt
tail -f log.txt
tail -n 100 log.txt
wc -l *.py
wc -l < x.txt
echo hello
echo "hello world"
echo 'rm -rf /'
echo "do not run rm -rf / here"
echo $HOME
echo "$USER"
echo $((1 + 2))
printf '%s\n' hello
date
date +%Y-%m-%d
whoami
id
uname -a
hostname
which python
command -v git
type ls
file x.bin
stat x.txt
du -sh .
du -sh * | sort -h
df -h
tree -L 2
grep -rn "def main" src
grep -r TODO --include='*.py' .
grep -E 'a|b' x.txt
grep -c foo x.txt
grep foo *.py
egrep 'x+' y
rg "class Foo" src
rg -n --type py foo
rg -l foo | head
cut -d: -f1 /etc/passwd
cut -d, -f2 x.csv | sort | uniq -c | sort -rn | head
tr a-z A-Z < x.txt
sort x.txt
sort -u x.txt
sort -k2 -n -r x.txt
uniq -c x.txt
diff a.txt b.txt
diff -u a b
cmp a b
comm -12 a b
paste a b
nl x.txt
basename /a/b/c
dirname /a/b/c
realpath .
readlink -f x
seq 1 10
sleep 1
true
md5sum x
sha256sum *.whl
xxd x.bin | head
hexdump -C x | head -5
od -c x
strings x.bin | grep foo
nproc
free -h
uptime
ps aux
ps -ef | grep python
find . -name '*.py'
find . -type f -name "*.md" -newer x
find src -maxdepth 2 -type d
find . -path ./node_modules -prune -o -name '*.js' -print
find . -name '*.py' -exec grep -l foo {} +
find . -name '*.py' -exec wc -l {} \;
find . -name '*.py' | xargs grep foo
find . -name '*.py' -print0 | xargs -0 wc -l
find . -type f | wc -l
git ls-files | xargs wc -l
sed -n '1,20p' x.py
sed -n 5p x
sed 's/foo/bar/' x.txt
sed 's/foo/bar/g; s/x/y/' x.txt
sed -e 's/a/b/' -e '/^#/d' x
sed -E 's/(a|b)+/c/g' x
sed '/^$/d' x
sed ':a;N;$!ba;s/\n/ /g' x
awk '{print $1}' x.txt
awk -F: '{print $1}' /etc/passwd
awk -F'|' '{print $2}' x
awk '$3 > 5 {print $1}' x
awk 'NR==1 || NR==5' x
awk '{s+=$1} END {print s}' x
jq . x.json
jq -r '.items[].name' x.json
cat x.json | jq '.a | length'
git status
git status -s
git log --oneline -10
git log --graph --all --oneline
git log -p -- src/a.py
git log --since='2 weeks ago' --author=me
git diff
git diff --stat
git diff HEAD~1 -- src
git diff main...HEAD
git show HEAD
git show HEAD:src/a.py
git blame src/a.py
git branch
git branch -a
git branch --show-current
git branch --list 'feature/*'
git tag
git tag -l 'v*'
git remote -v
git rev-parse HEAD
git describe --tags
git ls-files
git stash list
git --no-pager log -3
git -C sub status
git config --get user.name
git config --list
git grep foo
git shortlog -sn
git reflog
git worktree list
git merge-base main HEAD
git --version
python --version
node --version
pip list
pip show requests
pip freeze
docker ps
npm ls
rustup show
timeout 5 ls
time ls
nice ls
LC_ALL=C sort x
TZ=UTC date
ls 2>/dev/null
ls > /dev/null 2>&1
ls && echo ok || echo failed
if [ -f x ]; then cat x; fi
[ -d src ] && ls src
test -f x && echo yes
[[ -n "$X" ]] && echo set
for f in *.py; do wc -l "$f"; done
for i in 1 2 3; do echo $i; done
while read -r line; do echo "$line"; done < x.txt
cat x | while read l; do echo "$l"; done
x=$(git rev-parse HEAD); echo "$x"
echo "$(date): $(git rev-parse --short HEAD)"
echo `date`
diff <(sort a) <(sort b)
cat <<'EOF'
rm -rf / is only text here
EOF
cat <<EOF
hello
EOF
grep foo <<< "some text"
ls \
  -la
set -euo pipefail; ls
ls # rm -rf /
# a comment
tar tf x.tar
tar -tzf x.tgz
unzip -l x.zip
sh -c 'ls -la'
bash -c 'git status && git diff'
env LC_ALL=C ls
case x in a) echo a;; *) echo b;; esac
grep -v '^#' .gitignore
cat package.json | grep '"version"'
ls ~/projects
cat /etc/os-release
cat /proc/cpuinfo | grep model
column -t x
tac x
"""

WORKING = r"""
pytest
pytest -q
pytest tests/test_a.py::test_b -x
python -m pytest -q
python script.py
python script.py --flag x
python -c 'print(1)'
python -c 'import sys; print(sys.version)'
python -c "import json; print(json.dumps({'a': 1}))"
python -c "import numpy; print(numpy.__version__)"
python3 - <<'EOF'
print("hi")
EOF
node script.js
node -e 'console.log(1 + 1)'
perl -pe 's/foo/bar/g' x.txt
perl -ne 'print if /foo/' x
ruby script.rb
bash script.sh
sh ./build.sh
./run.sh
./gradlew build
make
make test
make -j4 all
cmake -B build -S .
cmake --build build
cargo build
cargo test
cargo run -- --flag
cargo clippy
go build ./...
go test ./...
go vet ./...
go run main.go
npm test
npm run build
npm run lint -- --fix
yarn test
pnpm test
tsc --noEmit
eslint src
prettier --check .
ruff check .
ruff format src
mypy src
black .
uv run pytest
uv run pytest -q tests
poetry run pytest
pre-commit run --all-files
tox -e py311
mkdir build
mkdir -p a/b/c
touch x.txt
cp a.txt b.txt
cp -r src dst
mv a.txt b.txt
mv old.py src/new.py
ln -s a b
rm x.txt
rm -f x.txt
rm -rf build
rm -rf build dist *.egg-info
rm -rf node_modules
rm -rf ./build/*
rm -rf /tmp/mytest
rm -rf src/__pycache__
rm "$f"
for f in *.bak; do rm "$f"; done
D=build; rm -rf "$D"
rmdir x
find . -name '*.pyc' -delete
find . -name __pycache__ -exec rm -rf {} +
chmod +x script.sh
chmod 644 x
chmod 755 bin/x
chmod -R u+w build
chown me x
sed -i 's/foo/bar/' x.py
sed -i.bak 's/foo/bar/g' src/*.py
sort x -o x
echo hi > x.txt
echo hi >> notes.md
cat a b > c
cat > x.py <<'EOF'
import os
os.system("echo $HOME")
EOF
cat > Makefile <<'EOF'
clean:
	rm -rf build
EOF
tee out.txt < in.txt
make 2>&1 | tee build.log
git add .
git add -A
git add src/a.py
git commit -m "Fix it"
git commit -am 'message with $(nothing) inside'
git commit --amend --no-edit
git checkout -b feature
git checkout main
git checkout HEAD~1 -- src/a.py
git switch -c x
git merge feature
git rebase main
git stash
git stash pop
git tag v1.0
git branch -d merged
git branch feature
git mv a b
git rm x
git cherry-pick abc123
git revert HEAD
git reset HEAD x
git reset --soft HEAD~1
git restore x.py
git init
git config user.name me
git apply x.patch
git clean -n
git bisect start
git rebase --continue
GIT_EDITOR=true git rebase --continue
tar czf x.tgz src
tar xzf x.tgz
tar -xf x.tar -C out
zip -r x.zip src
unzip x.zip -d out
gzip x
gunzip x.gz
docker build -t x .
docker compose up -d
docker logs x
docker exec -it x ls
source .venv/bin/activate
source .venv/bin/activate && pytest
. .venv/bin/activate && python script.py
python -m venv .venv
PYTHONPATH=src pytest
NODE_ENV=test npm test
DEBUG=1 python app.py
CC=gcc make
export FOO=bar
export FOO=bar; python app.py
X=1
nohup python server.py > log 2>&1 &
sleep 5 && make
timeout 60 pytest
time make
xargs -n1 touch < names
ls | xargs -I{} cp {} {}.bak
find . -name '*.txt' -exec touch {} \;
awk '{print $1 > "out.txt"}' x
sqlite3 x.db 'SELECT * FROM users'
sqlite3 x.db "SELECT count(*) FROM t WHERE a = 1"
psql -c 'SELECT 1'
vim x.py
vim +10 x.py
code .
open .
diff -u a b > x.patch
patch -p1 < x.patch
jq '.a = 1' x.json > y.json
openssl version
gcc -O2 -o x x.c
javac X.java && java X
pandoc x.md -o x.html
convert a.png b.jpg
ffmpeg -i a.mp4 b.webm
echo 'print(1)' > x.py && python x.py
cd build && cmake .. && make -j8 && ctest
(cd sub && make)
[ -d build ] || mkdir build
if ! make; then echo failed; exit 1; fi
f() { echo "$1"; }; f hello
for d in a b; do (cd "$d" && make); done
trap 'echo done' EXIT; make
mkdir -p out && cp -r src/* out/
kubectl get pods
helm list
coverage run -m pytest && coverage report
hermes --version
"""
